/**
 * How another function is called on the records that crashed. A view sends no code: the function is edited in its cell, and taken from
 * there by its name; or the user copies a line, and runs it.
 */
import { useRef, useState } from 'preact/hooks';
import type { Ask, Culprit } from '../crashing';
import type { During } from './useduring';

export interface FixProps {
  readonly known: Culprit;
  readonly ask: Ask;
  readonly busy: boolean;
  readonly during: During;
}

export function Fix({ known, ask, busy, during }: FixProps) {
  const { fix, number } = known;
  const set = (on: boolean): void => {
    void during(ask('fix', { number, on }));
  };
  return (
    <details open={fix.by !== null}>
      <summary>Fix the function</summary>
      {fix.code === null && <p class="bd-busy">{fix.why}</p>}
      {fix.defined !== null && <Defined by={fix.by} busy={busy} set={set} />}
      {fix.code !== null && <Code code={fix.code} other={fix.defined !== null} />}
    </details>
  );
}

interface DefinedProps {
  /** The function that is called on the records that crashed; null if there is none yet. */
  readonly by: string | null;
  readonly busy: boolean;
  readonly set: (on: boolean) => void;
}

function Defined({ by, busy, set }: DefinedProps) {
  return (
    <>
      <p class="bd-busy">
        {by === null ? (
          'Edit the function in its cell, or what it calls, and run that cell. Then it is called, as it is by then, on the records that crashed here; what the others gave stays.'
        ) : (
          <>
            Fixed by <bdi dir="ltr">{by}</bdi>. Was it edited since? Then take it anew.
          </>
        )}
      </p>
      <div class="bd-moves">
        <button
          type="button"
          disabled={busy}
          onClick={() => {
            set(true);
          }}
        >
          {by === null ? 'Call it as it is defined now' : 'Take it as it is defined now'}
        </button>
        {by !== null && (
          <button
            type="button"
            disabled={busy}
            onClick={() => {
              set(false);
            }}
          >
            Take the fix back
          </button>
        )}
      </div>
    </>
  );
}

function Code({ code, other }: { code: string; other: boolean }) {
  const shown = useRef<HTMLPreElement>(null);
  const [copied, setCopied] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(code);
      setCopied('Copied.');
    } catch {
      // A page that came over plain HTTP may not write to the clipboard.
      if (shown.current !== null) {
        document.getSelection()?.selectAllChildren(shown.current);
      }
      setCopied('Selected: copy it by Ctrl+C.');
    }
  };
  return (
    <>
      <p class="bd-busy">
        {`${other ? 'Or put another' : 'Put your'} function in the place of … and run this in a cell: it is called on the records that crashed, and what had finished is not run again.`}
      </p>
      <pre class="bd-code" ref={shown}>
        {code}
      </pre>
      <div class="bd-moves">
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
        <span class="bd-busy" role="status">
          {copied}
        </span>
      </div>
    </>
  );
}
