/** All records where a trace stands, as a file: the browser keeps it where it keeps what is downloaded. */
import { useState } from 'preact/hooks';
import type { Ask, Exported } from '../tracing';
import { Wrong } from './frame';
import { useDuring } from './useduring';
import { Late } from './waiting';
import { counted } from './words';

export interface ExportProps {
  readonly ask: Ask;
  /** The place of the way. */
  readonly at: number;
  readonly operator: number;
  /** Whether the view waits for the kernel. */
  readonly busy: boolean;
}

const FORMS = [
  ['csv', 'CSV', 'For spreadsheets: a text that they would compute begins with an apostrophe'],
  ['json', 'JSON', 'For programs: every text as it is']
] as const;

export function Export({ ask, at, operator, busy }: ExportProps) {
  const { busy: reads, problem, during } = useDuring();
  const [kept, keep] = useState('');
  const save = async (form: 'csv' | 'json'): Promise<void> => {
    keep('');
    const file = await ask('export', { at, operator, form });
    download(file);
    keep(`${counted(file.records, 'record')} in ${file.name}`);
  };
  return (
    <>
      <div class="bd-moves" role="group" aria-label="Save all records as a file">
        <span class="bd-facts">Save all records as</span>
        {FORMS.map(([form, label, title]) => (
          <button
            key={form}
            type="button"
            title={title}
            disabled={busy || reads}
            onClick={() => {
              void during(save(form));
            }}
          >
            {label}
          </button>
        ))}
        <span class="bd-busy" role="status">
          {reads ? (
            <>
              Reading all records… <Late />
            </>
          ) : (
            <bdi>{kept}</bdi>
          )}
        </span>
      </div>
      {problem !== null && <Wrong why={problem} />}
    </>
  );
}

/** Hands a text to the browser as a file. It is never opened as a page: what is in it is the user's. */
function download({ name, kind, text }: Exported): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${kind};charset=utf-8` }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(url);
  });
}
