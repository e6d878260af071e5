import { expect, test } from 'vitest';
import { closeUnreleased, notesOf, withAbsoluteLinks } from './changelog.ts';

const CHANGELOG = `# Changelog

## [Unreleased]

### Added

- A door.

## [0.1.0] - 2026-01-02

- A house.
`;

test('moves the unreleased changes into the section of the release', () => {
  const closed = closeUnreleased(CHANGELOG, '1.0.0', '2026-03-04');
  expect(closed).toContain(
    '## [Unreleased]\n\n## [1.0.0] - 2026-03-04\n\n### Added\n\n- A door.\n\n## [0.1.0]',
  );
  expect(notesOf(closed, 'Unreleased')).toBe('');
  expect(notesOf(closed, '1.0.0')).toBe('### Added\n\n- A door.');
});

test('finds the notes of a release', () => {
  expect(notesOf(CHANGELOG, 'Unreleased')).toBe('### Added\n\n- A door.');
  expect(notesOf(CHANGELOG, '0.1.0')).toBe('- A house.');
  expect(notesOf(CHANGELOG, '0.1')).toBe('');
});

test('links to the files of the release', () => {
  expect(withAbsoluteLinks('[a](docs/a.md#b), [c](https://c.test/d)', 'https://e.test/v1')).toBe(
    '[a](https://e.test/v1/docs/a.md#b), [c](https://c.test/d)',
  );
});
