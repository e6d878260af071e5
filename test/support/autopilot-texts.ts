import { readFileSync } from 'node:fs';

/** What contacts write to the autopilot, by why a person should answer it; `harmless`: nobody has to. */
export function autopilotTexts(): ReadonlyMap<string, readonly string[]> {
  const file = new URL('../fixtures/autopilot-texts.txt', import.meta.url);
  const texts = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const heading = /^\[(\w+)\]$/.exec(line)?.[1];
    if (heading !== undefined) texts.set(heading, (current = []));
    else if (line !== '') current.push(line);
  }
  return texts;
}
