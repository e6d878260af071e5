import { writeGeneratedPages } from './generated-pages.ts';

/** `npm run docs` */
await writeGeneratedPages();
