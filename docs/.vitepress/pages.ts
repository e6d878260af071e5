import { readFileSync } from 'node:fs';
import { SIDEBAR } from './sidebar.ts';

/** The first page of the site. */
const HOME = 'docs/index.md';

/** Files of the repository that the site has as pages. */
export const PAGES: readonly string[] = [HOME, 'docs/README.md', ...Object.values(SIDEBAR).flat()];

/** Where the site has a page: files of docs/ at its root, the others beside them. */
export const addressOf = (file: string): string =>
  file.startsWith('docs/')
    ? file.slice('docs/'.length).replace('README', 'contents')
    : `repository/${file.replace('/README', '').toLowerCase()}`;

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** Its heading, up to a colon. */
export function titleOf(file: string): string {
  const [, title] = /^# ([^:\n]+)/m.exec(readFileSync(file, 'utf8')) ?? [];
  if (title === undefined) throw new Error(`${file} has no heading`);
  return title;
}
