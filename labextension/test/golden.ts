/** The files that the kernel's tests read and write as well. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../tests/golden');

export function golden(name: string): unknown {
  return goldenIn('payload', name);
}

export function goldenIn(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(FOLDER, folder, `${name}.json`), 'utf8'));
}

export function names(folder: string): string[] {
  return readdirSync(join(FOLDER, folder)).map(file => file.replace('.json', ''));
}

export const NAMES = names('payload');
