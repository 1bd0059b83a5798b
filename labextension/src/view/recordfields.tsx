/** The fields of a record: to look at, and as texts to edit. What is edited is text, and the kernel reads it as what the field has. */
import { useId, useState } from 'preact/hooks';
import type { Culprit, Edit, Field } from '../crashing';
import { Value } from './value';
import { counted } from './words';

export function RecordFields({ known }: { known: Culprit }) {
  return (
    <>
      <div class="bd-scroll">
        <table class="bd-fields">
          <tbody>
            {known.fields.map((field, at) => (
              <tr key={at} class={field.edited ? 'bd-edited' : ''}>
                <Name field={field} whole={known.whole} />
                <td>
                  <div class="bd-value">
                    {field.edited && (
                      <>
                        <ins>
                          <Value text={field.now ?? ''} />
                        </ins>{' '}
                      </>
                    )}
                    {field.edited ? (
                      <del>
                        <Value text={field.value} />
                      </del>
                    ) : (
                      <Value text={field.value} />
                    )}
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {known.left > 0 && <p class="bd-busy">{`and ${counted(known.left, 'more field')}`}</p>}
    </>
  );
}

function Name({ field, whole }: { field: Field; whole: boolean }) {
  return whole ? null : (
    <th scope="row">
      <bdi>{field.name}</bdi>
    </th>
  );
}

export interface RepairFormProps {
  readonly known: Culprit;
  readonly busy: boolean;
  readonly cancel: () => void;
  /** Puts a record with these texts in the place; none: the record as it was. */
  readonly put: (edits: readonly Edit[]) => void;
}

export function RepairForm({ known, busy, cancel, put }: RepairFormProps) {
  const [texts, setTexts] = useState<ReadonlyMap<number, string | null>>(() => edited(known.fields));
  const edits = [...texts]
    .filter(([field, text]) => text !== known.fields[field]?.text)
    .map(([field, text]) => ({ field, text }));
  return (
    <form
      class="bd-repair"
      onSubmit={event => {
        event.preventDefault();
        put(edits);
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          cancel();
        } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          put(edits);
        }
      }}
    >
      <div class="bd-scroll">
        <table class="bd-fields">
          <tbody>
            {known.fields.map((field, at) => (
              <tr key={at}>
                <Name field={field} whole={known.whole} />
                <td>
                  {field.text === null ? (
                    <Untouched field={field} />
                  ) : (
                    <Input
                      field={field}
                      whole={known.whole}
                      text={texts.has(at) ? (texts.get(at) ?? null) : field.text}
                      set={text => {
                        setTexts(new Map(texts).set(at, text));
                      }}
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="bd-moves">
        <button type="submit" class="bd-first" disabled={busy}>
          Put it in its place
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        <span class="bd-keys">
          <kbd>Ctrl</kbd>+<kbd>Enter</kbd> puts it, <kbd>Esc</kbd> cancels.
        </span>
      </div>
    </form>
  );
}

/** The texts to begin with: those that fields were edited to before. */
function edited(fields: readonly Field[]): Map<number, string | null> {
  return new Map(fields.flatMap((field, at) => (field.edited ? [[at, field.to] as const] : [])));
}

interface InputProps {
  readonly field: Field;
  readonly whole: boolean;
  readonly text: string | null;
  readonly set: (text: string | null) => void;
}

function Input({ field, whole, text, set }: InputProps) {
  const hint = useId();
  const isText = field.reads === 'text';
  return (
    <>
      <div class="bd-input">
        <textarea
          dir="auto"
          rows={Math.min(6, (text ?? '').split('\n').length + Math.floor((text ?? '').length / 70))}
          spellcheck={false}
          value={text ?? ''}
          disabled={text === null}
          aria-label={whole ? 'record' : field.name}
          aria-describedby={isText ? undefined : hint}
          onInput={event => {
            set(event.currentTarget.value);
          }}
        />
        {isText && !whole && (
          <label>
            <input
              type="checkbox"
              checked={text === null}
              onChange={() => {
                set(text === null ? (field.text ?? '') : null);
              }}
            />
            None
          </label>
        )}
      </div>
      {!isText && <span id={hint} class="bd-hint">{`read as ${field.reads}`}</span>}
    </>
  );
}

function Untouched({ field }: { field: Field }) {
  return (
    <>
      <div class="bd-value">
        <Value text={field.value} />
      </div>
      <span class="bd-hint">{field.why}</span>
    </>
  );
}
