/** What failed, said once more when all tests have ended: of what a long run prints, machines that run tests keep the end. */
import type { Reporter, TestCase, TestResult } from '@playwright/test/reporter';

const MOST_LINES = 12;

export default class LastWords implements Reporter {
  private readonly words: string[] = [];

  onTestEnd(test: TestCase, result: TestResult): void {
    if (result.status !== test.expectedStatus) {
      const said = result.errors.map(error => error.message ?? '').join('\n');
      this.words.push(`${test.title}:\n${said.split('\n').slice(0, MOST_LINES).join('\n')}`);
    }
  }

  onEnd(): void {
    if (this.words.length > 0) {
      console.log(`\n${this.words.join('\n')}`);
    }
  }
}
