import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import semver from 'semver';
import { breakingApiChanges, closeApiChangelog } from './api-changelog.ts';
import { closeUnreleased, notesOf, withAbsoluteLinks } from './changelog.ts';

/**
 * Prepares a release: versions, changelogs, commit and tag, nothing of which is pushed.
 *
 * Usage: npm run release -- <version>
 *        npm run release -- --notes <version> [<address of its files>]    prints the notes of a release
 */
const [argument = '', ofVersion = '', address] = process.argv.slice(2);
const changelog = readFileSync('CHANGELOG.md', 'utf8');
if (argument === '--notes') {
  const notes = notesOf(changelog, ofVersion);
  if (notes === '') refuse([`CHANGELOG.md has no notes of ${ofVersion}`]);
  console.log(address === undefined ? notes : withAbsoluteLinks(notes, address));
} else {
  await release(argument);
}

async function release(version: string): Promise<void> {
  const { version: before } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const problems = await problemsOf(version, before);
  if (problems.length > 0) refuse(problems);

  for (const file of versioned()) {
    const text = readFileSync(file, 'utf8');
    const next = withVersion(file, text, before, version);
    if (next === text) refuse([`${file} does not name the version ${before}`]);
    writeFileSync(file, next);
  }
  writeFileSync('CHANGELOG.md', closeUnreleased(changelog, version, new Date().toISOString().slice(0, 10)));
  await closeApiChangelog(version);

  git('add', '--all');
  git('commit', '--quiet', '--message', `chore: release ${version}`);
  git(
    'tag',
    '--annotate',
    `v${version}`,
    '--cleanup=verbatim',
    '--message',
    notesOf(changelog, 'Unreleased'),
  );
  console.log(`Version ${version} is committed and tagged. Publish it with: git push --follow-tags`);
}

async function problemsOf(version: string, before: string): Promise<string[]> {
  if (semver.valid(version) !== version) return [`"${version}" is not a semantic version, such as 1.0.0`];
  const breaking = semver.major(version) > semver.major(before) ? [] : await breakingApiChanges();
  return [
    semver.gt(version, before) || `version ${version} is not later than ${before}`,
    git('branch', '--show-current') === 'main' || 'the current branch is not main',
    git('status', '--porcelain') === '' || 'there are changes that are not committed',
    git('tag', '--list', `v${version}`) === '' || `the tag v${version} exists`,
    notesOf(changelog, 'Unreleased') !== '' || 'CHANGELOG.md has nothing that is not released',
    ...breaking.map((change) => `only a new major version may break the API: ${change}`),
  ].filter((problem) => problem !== true);
}

/** The files that name the version. */
function versioned(): string[] {
  const manifests = readdirSync('deploy/kubernetes').filter((name) =>
    /^(api|worker|migrate)\.yaml$/.test(name),
  );
  return [
    'package.json',
    'package-lock.json',
    'sdk/typescript/package.json',
    'sdk/typescript/package-lock.json',
    'sdk/python/pyproject.toml',
    'deploy/helm/linepace/Chart.yaml',
    ...manifests.map((name) => `deploy/kubernetes/${name}`),
  ];
}

function withVersion(file: string, text: string, before: string, version: string): string {
  if (file.startsWith('deploy/kubernetes/')) return text.replaceAll(before, version);
  if (!file.endsWith('package-lock.json'))
    return text.replaceAll(/^(\s*"?(?:version|appVersion)"?\s*[:=]\s*"?)\d[^",\s]*/gm, `$1${version}`);
  const lock = JSON.parse(text) as { version: string; packages: { '': { version: string } } };
  lock.version = version;
  lock.packages[''].version = version;
  return `${JSON.stringify(lock, null, 2)}\n`;
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function refuse(problems: readonly string[]): never {
  for (const problem of problems) console.error(`✗ ${problem}`);
  process.exit(1);
}
