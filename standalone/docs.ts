import { writeApiChangelog } from './api-changelog.ts';
import { writeErrorReference } from './error-reference.ts';

/** `npm run docs`: writes the generated pages. `--release=0.2.0` closes the changes of the API with a release. */
const version = /^--release=(\S+)$/.exec(process.argv[2] ?? '')?.[1] ?? null;
await writeErrorReference();
await writeApiChangelog(version);
