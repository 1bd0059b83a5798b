/** A place in a page for what is drawn, and what a person does there. */
import { render, type ComponentChild } from 'preact';
import { act } from 'preact/test-utils';

export class Host {
  readonly el = document.body.appendChild(document.createElement('div'));

  /** Do something, and let answers come and be shown: those to what is asked once an answer is shown, too. */
  async then(action: () => void): Promise<void> {
    await act(action);
    for (let round = 0; round < 3; round += 1) {
      await act(() => new Promise(resolve => setTimeout(resolve)));
    }
  }

  async show(what: ComponentChild): Promise<void> {
    await this.then(() => {
      render(what, this.el);
    });
  }

  button(label: string | RegExp): HTMLButtonElement {
    return [...this.el.querySelectorAll('button')].find(each => each.textContent.match(label))!;
  }

  async press(label: string | RegExp): Promise<void> {
    await this.then(() => {
      this.button(label).click();
    });
  }

  /** The texts of what is found. */
  texts(selector: string): string[] {
    return [...this.el.querySelectorAll(selector)].map(each => each.textContent);
  }

  close(): void {
    render(null, this.el);
    this.el.remove();
  }
}
