/** How another function is called on the records that crashed. A view sends no code: the user copies it, and runs it. */
import { useRef, useState } from 'preact/hooks';
import type { Culprit } from '../crashing';

export function Fix({ fix }: { fix: Culprit['fix'] }) {
  return (
    <details>
      <summary>Fix the function</summary>
      {fix.code === null ? <p class="bd-busy">{fix.why}</p> : <Code code={fix.code} />}
    </details>
  );
}

function Code({ code }: { code: string }) {
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
        Put your function in the place of … and run this in a cell: it is called on the records that crashed, and what
        had finished is not run again.
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
