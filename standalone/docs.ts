import { writeApiChangelog } from './api-changelog.ts';
import { writeErrorReference } from './error-reference.ts';

/** `npm run docs`: writes the generated pages. */
await writeErrorReference();
await writeApiChangelog();
