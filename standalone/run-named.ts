import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Runs one of the programs of a folder by its name, with the arguments that follow; without a name, the one that is
 * named `all`. If there is none, or with `list`, it lists them.
 * Usage: node standalone/run-named.ts FOLDER [NAME] [arguments…]
 */
const [folder = ''] = process.argv.splice(2, 1);
const name = process.argv[2]?.startsWith('-') ? undefined : process.argv.splice(2, 1)[0];
const files = globSync(`${folder}/*.ts`).toSorted();
const programs = new Map(files.map((file) => [basename(file, '.ts'), file]));
const file = programs.get(name ?? 'all');
if (file) {
  await import(pathToFileURL(file).href);
} else {
  const isUnknown = name !== undefined && name !== 'list';
  if (isUnknown) console.error(`There is no ${name}. There are:`);
  for (const [known, path] of programs) console.log(`  ${known.padEnd(18)}${summary(path)}`);
  process.exitCode = isUnknown ? 2 : 0;
}

/** The first sentence of the comment that says how to run it. */
function summary(path: string): string {
  const comments = readFileSync(path, 'utf8').match(/\/\*.*?\*\//gs) ?? [];
  const usage = comments.find((text) => text.includes('npm run')) ?? comments[0] ?? '';
  const text = usage
    .replaceAll(/^[\s/]*\*+[ /]?/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .replace(/^ *`npm run[^`]*`: /, '')
    .trim()
    .replace(/^\w/, (letter) => letter.toUpperCase());
  return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, '.') ?? text;
}
