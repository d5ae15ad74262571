// The build of the page: into the package, with a digest in each file name.
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    outDir: '../src/allstop/_web',
    emptyOutDir: true,
    target: 'es2022',
    // Nothing inline: the content security policy allows only files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Code that most pages share is one file: many small ones would cost round trips.
        // Markdown is large, and only some pages need it.
        advancedChunks: {
          groups: [
            {
              name: 'shared',
              test: /\/src\/(lib|state|parts|kinds)\/(?!markdown|Markdown|InboxItem|Changes|CodeText|Diff|FindingRow|highlighter|diff|review|Remark|Terminal|event-bus\.worker)|\/node_modules\/(svelte|esm-env|clsx)\//,
            },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
})
