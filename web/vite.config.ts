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
  },
  worker: { format: 'es' },
})
