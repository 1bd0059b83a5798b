/** The view of a watch: asks again while the watch is on, and can end it. */
import { useEffect, useState } from 'preact/hooks';
import type { AskOf } from '../asking';
import { refusal, type Refused } from '../payload';
import type { ANSWERS, Requests, WatchLine } from '../watching';
import { Frame, WrongView } from './frame';
import { Waiting } from './waiting';
import { WatchFacts, WatchName } from './watchfacts';

/** Milliseconds between an answer and the next question. */
const EVERY = 500;

type Ask = AskOf<Requests, typeof ANSWERS>;

export function WatchView({ ask }: { ask: Ask }) {
  const [watch, setWatch] = useState<WatchLine | null>(null);
  const [why, setWhy] = useState<Refused | null>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let wanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      ask('watch', {}).then(
        found => {
          if (wanted) {
            setWatch(found);
            setWhy(null);
            timer = found.on ? setTimeout(look, EVERY) : undefined;
          }
        },
        (problem: unknown) => {
          if (wanted) {
            setWhy(refusal(problem));
          }
        }
      );
    };
    look();
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [tries]);
  const again = (): void => {
    setTries(tries + 1);
  };
  if (why !== null) {
    return <WrongView kind="watching" why={why} again={again} />;
  }
  return (
    <Frame kind="watching">
      {watch === null ? (
        <Waiting what="Asking the kernel…" />
      ) : (
        <>
          <header>
            <span class="bd-summary">
              Watch on <WatchName watch={watch} />
            </span>
            {watch.on ? (
              <button
                type="button"
                onClick={() => {
                  ask('stop', {}).then(setWatch, (problem: unknown) => {
                    setWhy(refusal(problem));
                  });
                }}
              >
                Stop
              </button>
            ) : (
              <span class="bd-busy">stopped</span>
            )}
          </header>
          <WatchFacts watch={watch} />
        </>
      )}
    </Frame>
  );
}
