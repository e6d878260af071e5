import { defineConfig } from '@lingui/cli';
import { formatter } from '@lingui/format-po';

/** The console's catalogs of texts: one for what every page has, and one for each folder of pages, loaded with it. */
export default defineConfig({
  sourceLocale: 'en',
  locales: ['en', 'es'],
  catalogs: [
    {
      path: '<rootDir>/console/locales/{locale}/shell',
      include: [
        'api',
        'components',
        'lib',
        'shell',
        'router.tsx',
        'pages/sign-in.tsx',
        'pages/set-up.tsx',
        'pages/first-client.tsx',
      ].map((part) => `<rootDir>/console/${part}`),
    },
    { path: '<rootDir>/console/locales/{locale}/{name}', include: ['<rootDir>/console/pages/{name}/'] },
  ],
  // Without the numbers of lines, which would change with every edit.
  format: formatter({ lineNumbers: false }),
});
