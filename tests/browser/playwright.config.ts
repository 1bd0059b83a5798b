import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { defineConfig } from '@playwright/test';

const executablePath = execFileSync(join(import.meta.dirname, 'chromium'), { encoding: 'utf8' }).trim();

export default defineConfig({
  testMatch: '*.spec.ts',
  workers: 1,
  // Spark takes seconds to start, on a machine that is busy many.
  timeout: 120_000,
  expect: { timeout: 30_000 },
  forbidOnly: 'CI' in process.env,
  reporter: [['list'], ['./lastwords.ts']],
  use: {
    screenshot: 'only-on-failure',
    actionTimeout: 20_000,
    viewport: { width: 1400, height: 900 },
    launchOptions: {
      executablePath,
      args: [
        '--no-sandbox', // CI is root
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync'
      ]
    }
  }
});
