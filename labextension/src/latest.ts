/** What is sent while a hand moves: one message is under way, and of what comes meanwhile only the latest of each key goes next. */
export class Latest<Key, Value> {
  constructor(private readonly send: (values: ReadonlyMap<Key, Value>) => Promise<unknown>) {}

  /** Whether a value of this key is under way, or waits. */
  pending(key: Key): boolean {
    return this.waiting.has(key) || this.under.has(key);
  }

  put(key: Key, value: Value): void {
    this.waiting.set(key, value);
    if (this.under.size === 0) {
      void this.go();
    }
  }

  private async go(): Promise<void> {
    while (this.waiting.size > 0) {
      this.under = this.waiting;
      this.waiting = new Map();
      await this.send(this.under);
      this.under = new Map();
    }
  }

  private waiting = new Map<Key, Value>();
  private under = new Map<Key, Value>();
}
