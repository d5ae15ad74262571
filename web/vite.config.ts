// How the page is built: into the package, with names that carry a digest of their content.
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    outDir: '../src/allstop/_web',
    emptyOutDir: true,
    target: 'es2022',
    // Nothing inline: the page's policy allows scripts and styles from files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What most pages share is one file: two dozen small ones cost more round trips than bytes.
        // Markdown is large, and only some pages show any.
        advancedChunks: {
          groups: [
            {
              name: 'shared',
              test: /\/src\/(lib|state|parts)\/(?!markdown|Markdown|WaitingItem|Changes|DiffView|Remark|Terminal|bus\.worker)|\/node_modules\/(svelte|esm-env|clsx)\//,
            },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
})
