/** A view that stands somewhere: what it is asked first, or what it has told since, whichever is later. */
import type { ComponentChildren } from 'preact';
import { Frame, WrongView } from './frame';
import { useAnswer } from './useanswer';
import { Waiting } from './waiting';

export interface StandingProps<Standing> {
  readonly kind: string;
  readonly look: () => Promise<Standing>;
  /** How the view stands as it told last; null if it has not told anything. */
  readonly told: Standing | null;
  /** The later one has the higher turn. */
  readonly turn: (standing: Standing) => number;
  readonly children: (standing: Standing) => ComponentChildren;
}

export function Stands<Standing>({ kind, look, told, turn, children }: StandingProps<Standing>) {
  const first = useAnswer(look, []);
  if (first.is === 'refused' && told === null) {
    return <WrongView kind={kind} why={first.why} again={first.again} />;
  }
  const known = first.is === 'answered' ? first.answer : null;
  const standing = told !== null && turn(told) >= (known === null ? 0 : turn(known)) ? told : known;
  return <Frame kind={kind}>{standing === null ? <Waiting what="Asking the kernel…" /> : children(standing)}</Frame>;
}
