/*
 * Builds what production runs: the console, and the API process in one file.
 *
 * Usage: npm run build
 */
await import('../console/build.ts');
await import('../api/bundle.ts');
