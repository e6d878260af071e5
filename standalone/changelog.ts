/** CHANGELOG.md in the format of Keep a Changelog: a section of unreleased changes, then one for each release. */
const UNRELEASED = '## [Unreleased]';

/** @returns the text of a section without its heading; empty if there is none. */
export function notesOf(changelog: string, version: string): string {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`## [${version}]`));
  if (start === -1) return '';
  const end = lines.findIndex((line, index) => index > start && line.startsWith('## '));
  return lines
    .slice(start + 1, end === -1 ? undefined : end)
    .join('\n')
    .trim();
}

/** @param base the address of the repository's files at the release: notes that are read elsewhere link to them. */
export const withAbsoluteLinks = (notes: string, base: string): string =>
  notes.replaceAll(/\]\((?![a-z]+:)/g, () => `](${base}/`);

/** Turns the unreleased changes into the section of the version. @param date YYYY-MM-DD */
export const closeUnreleased = (changelog: string, version: string, date: string): string =>
  changelog.replace(UNRELEASED, () => `${UNRELEASED}\n\n## [${version}] - ${date}`);
