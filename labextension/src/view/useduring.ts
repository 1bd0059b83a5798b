/** What is asked of a view by a hand: whether it is still being done, and why the last one was refused. */
import { useState } from 'preact/hooks';
import { refusal, type Refused } from '../payload';

/** Does what is asked, and shows what was refused; true if it was not. */
export type During = (asked: Promise<unknown>) => Promise<boolean>;

export function useDuring(): { busy: boolean; problem: Refused | null; during: During } {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Refused | null>(null);
  const during: During = async asked => {
    setBusy(true);
    setProblem(null);
    try {
      await asked;
      return true;
    } catch (why) {
      setProblem(refusal(why));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, during };
}
