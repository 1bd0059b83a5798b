/** The files that the kernel's tests read and write as well. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../tests/golden/payload');

export function golden(name: string): unknown {
  return JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));
}

export const NAMES = readdirSync(FOLDER).map(file => file.replace('.json', ''));
