// Settings of E2B's own suites, without those for browsers: `root` is the folder of the suite.
import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

const setup = 'tests/globalFetchFallback.setup.ts'

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/runtimes/**'],
    setupFiles: existsSync(setup) ? [setup] : [],
    environment: 'node',
    testTimeout: 60_000,
    env: process.env,
    maxWorkers: Number(process.env.SUITE_JOBS),
  },
})
