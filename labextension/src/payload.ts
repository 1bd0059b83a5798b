/**
 * The contract with the kernel: what JupyterLab's panel and bigdebug in a kernel say to each other.
 *
 * `bigdebug/views/payload.py` is its other half; both read and write the files of `tests/golden/payload`. What the kernel
 * sends is checked here, once, so that all behind this module can rely on its types. Texts in it are the user's: they are
 * shown, and never become markup.
 */
import * as v from 'valibot';
import { WatchLine } from './watching';

/** Of all messages but a refusal, which every version reads. */
export const VERSION = 1;

/** The comm target by which the kernel tells of changes. */
export const EVENTS = 'bigdebug.events';

/** The comm target by which the panel asks: each request has one answer. */
export const CONTROL = 'bigdebug.control';

/** The comm target by which a view of a run is shown: opened with the request `view`, on it go the view's own messages. */
export const VIEW = 'bigdebug.view';

export const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

const RunLine = v.object({
  id: v.string(),
  name: v.string(),
  action: v.string(),
  status: v.picklist(['succeeded', 'failed', 'partial']),
  /** When its action began, in seconds since 1970; null for what was none. */
  began: v.nullable(v.number()),
  /** When the kernel first knew it. */
  noted: v.number(),
  /** The cell of the notebook that ran then, by JupyterLab's id for it. */
  cell: v.nullable(v.string()),
  /** The number that the cell had meanwhile. */
  execution: v.nullable(whole),
  /** In tasks; null, as below, for what nobody measured or counted. */
  seconds: v.nullable(v.number()),
  read: v.nullable(whole),
  outputs: v.nullable(whole),
  bytes: v.nullable(whole),
  culprits: v.object({ known: whole, complete: v.boolean() }),
  incomplete: v.array(v.string())
});

const Changes = v.object({
  /** What has changed after this change; 0: this is all there is. */
  after: whole,
  upto: whole,
  session: v.nullable(v.object({ application: v.string(), running: v.boolean() })),
  runs: v.array(RunLine),
  forgotten: v.array(v.string()),
  /** All that are on; null if nothing about them has changed. */
  watches: v.nullable(v.array(WatchLine))
});

export const Operator = v.object({
  id: whole,
  name: v.string(),
  kind: v.string(),
  parents: v.array(whole),
  records: v.nullable(whole),
  dataset: v.nullable(v.string()),
  line: v.nullable(v.string())
});

export const Cause = v.object({
  culprits: whole,
  exception: v.string(),
  operator: v.string(),
  line: v.nullable(v.string()),
  record: v.string()
});

const RunDetails = v.object({
  run: v.string(),
  operators: v.array(Operator),
  causes: v.array(Cause),
  notes: v.array(v.string())
});

const ANSWERS = { changes: Changes, run: RunDetails } as const;

const Refusal = v.object({ answer: v.literal('refused'), content: v.object({ what: v.string(), remedy: v.string() }) });
const Numbered = v.object({ id: v.nullable(whole) });

export type RunLine = v.InferOutput<typeof RunLine>;
export type Changes = v.InferOutput<typeof Changes>;
export type Operator = v.InferOutput<typeof Operator>;
export type Cause = v.InferOutput<typeof Cause>;
export type RunDetails = v.InferOutput<typeof RunDetails>;

/** What can be asked, with what is said along. */
export interface Requests {
  changes: { after: number };
  run: { run: string };
}

export type Asked = keyof Requests;
export type Answer<Name extends Asked> = v.InferOutput<(typeof ANSWERS)[Name]>;

/** What is wrong, and what to do about it: from the kernel, or about what it said. */
export class Refused extends Error {
  constructor(
    readonly what: string,
    readonly remedy: string
  ) {
    super(`${what} ${remedy}`);
  }
}

/** Whatever was thrown, as a refusal that can be shown. */
export function refusal(problem: unknown): Refused {
  return problem instanceof Refused ? problem : new Refused(`This went wrong: ${String(problem)}.`, 'Reload the page.');
}

export function writeRequest<Content>(id: number, request: string, content: Content) {
  return { version: VERSION, id, request, content };
}

/** The number of the request that a message answers; null if it answers none that can be told. */
export function answered(data: unknown): number | null {
  const found = v.safeParse(Numbered, data);
  return found.success ? found.output.id : null;
}

/** Whether a message answers something, and is no event. */
export function isAnswer(data: unknown): boolean {
  return v.is(v.object({ answer: v.string() }), data);
}

/** The content of an event of that name and shape; null for all other messages. */
export function eventOf<Shape extends v.GenericSchema>(name: string, content: Shape, data: unknown) {
  const found = v.safeParse(v.object({ version: v.literal(VERSION), event: v.literal(name), content }), data);
  return found.success ? (found.output.content as v.InferOutput<Shape>) : null;
}

/** What the kernel tells unasked. Throws Refused for what cannot be read, and if the kernel refused this panel. */
export function readEvent(data: unknown): Changes {
  return read(v.object({ event: v.literal('changes'), content: Changes }), data).content;
}

/** The answer to a request of that name. Throws Refused for what cannot be read, and if the kernel refused. */
export function readAnswer<Name extends Asked>(name: Name, data: unknown): Answer<Name> {
  return readAs(name, ANSWERS[name], data) as Answer<Name>;
}

/** The content of an answer of that name and shape. Throws Refused as `readAnswer` does. */
export function readAs(name: string, content: v.GenericSchema, data: unknown): unknown {
  return read(v.object({ answer: v.literal<string>(name), content }), data).content;
}

function read<Shape extends v.GenericSchema>(shape: Shape, data: unknown): v.InferOutput<Shape> {
  const refused = v.safeParse(Refusal, data);
  if (refused.success) {
    throw new Refused(refused.output.content.what, refused.output.content.remedy);
  }
  const remedy =
    'Install the same bigdebug where JupyterLab runs and where the kernel does, restart the kernel, and reload the page.';
  const version = v.safeParse(v.object({ version: v.number() }), data);
  if (!version.success || version.output.version !== VERSION) {
    const theirs = version.success ? version.output.version : 'unknown';
    throw new Refused(
      `This kernel's bigdebug speaks version ${theirs} of their messages, JupyterLab's version ${VERSION}.`,
      remedy
    );
  }
  const found = v.safeParse(shape, data);
  if (!found.success) {
    const [issue] = found.issues;
    const where = v.getDotPath(issue) ?? 'all of it';
    throw new Refused(`A message of this kernel cannot be read: ${where}: ${issue.message}.`, remedy);
  }
  return found.output;
}
