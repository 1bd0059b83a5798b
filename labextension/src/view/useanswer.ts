/** A component's question to the kernel, and how it stands. What was refused can be asked again: what was wrong may have been mended. */
import { useEffect, useState } from 'preact/hooks';
import { refusal, type Refused } from '../payload';

export type Asked<Answer> =
  | { readonly is: 'waiting' }
  | { readonly is: 'refused'; readonly why: Refused; readonly again: () => void }
  | { readonly is: 'answered'; readonly answer: Answer };

/** What `ask` gives, asked again whenever one of `anew` changes. Until then an answer stays. */
export function useAnswer<Answer>(ask: () => Promise<Answer>, anew: readonly unknown[]): Asked<Answer> {
  const [asked, setAsked] = useState<Asked<Answer>>({ is: 'waiting' });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const again = (): void => {
      setAsked({ is: 'waiting' });
      setTries(tries + 1);
    };
    let wanted = true;
    ask().then(
      answer => {
        if (wanted) {
          setAsked({ is: 'answered', answer });
        }
      },
      (problem: unknown) => {
        if (wanted) {
          setAsked({ is: 'refused', why: refusal(problem), again });
        }
      }
    );
    return () => {
      wanted = false;
    };
  }, [...anew, tries]);
  return asked;
}
