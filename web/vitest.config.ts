// Unit tests run in happy-dom; tests in a real browser are in tests/browser.
import { svelteTesting } from '@testing-library/svelte/vite'
import { defineConfig, mergeConfig } from 'vitest/config'
import base from './vite.config'

export default mergeConfig(
  base,
  defineConfig({
    plugins: [svelteTesting()],
    test: { environment: 'happy-dom', include: ['src/**/*.test.ts'], isolate: false },
  }),
)
