import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { defineConfig } from 'vitepress';
import { adaptPages } from './adapt-pages.ts';
import { addressOf, anchorOf, PAGES, titleOf } from './pages.ts';
import { SIDEBAR } from './sidebar.ts';

const { version, description } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string;
  description: string;
};
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_REF_NAME, DOCS_BASE } = process.env;
const project = GITHUB_REPOSITORY === undefined ? undefined : `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
const repository = project && `${project}/blob/${GITHUB_REF_NAME}`;

const PUBLIC = 'docs/.vitepress/public';

/** What the search knows of the reference, which a component shows: the summary of each endpoint, at its place there. */
function endpoints(): string {
  const { paths } = JSON.parse(readFileSync(`${PUBLIC}/openapi.json`, 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string; summary: string; tags: string[] }>>;
  };
  return Object.entries(paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(
        ([
          method,
          {
            operationId,
            summary,
            tags: [tag],
          },
        ]) =>
          `<h2>${summary} <a href="#/${encodeURIComponent(tag ?? '')}/${operationId}"></a></h2><p>${method} ${path}</p>`,
      ),
    )
    .join('\n');
}

/** Built by `npm run docs:site` (standalone/docs-site.ts), from the root of the repository. */
export default defineConfig({
  title: 'Linepace',
  description,
  lang: 'en-US',
  base: DOCS_BASE ?? '/',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${DOCS_BASE ?? '/'}icon.svg` }]],
  // Pages are those files of the repository that the sidebar lists.
  srcDir: '..',
  srcExclude: globSync('**/*.md', { exclude: ['node_modules/**', ...PAGES] }),
  rewrites: Object.fromEntries(PAGES.map((file) => [file, addressOf(file)])),
  cleanUrls: false,
  ignoreDeadLinks: [/^https?:\/\/(localhost|127\.0\.0\.1)/],
  markdown: { config: (markdown) => adaptPages(markdown, repository), anchor: { slugify: anchorOf } },
  // The repository has other files of this name.
  additionalConfig: {},
  vite: { publicDir: resolve(PUBLIC) },
  themeConfig: {
    logo: '/icon.svg',
    search: {
      provider: 'local',
      options: {
        // Requires all words: short words occur in every long page.
        miniSearch: { searchOptions: { combineWith: 'AND' } },
        async _render(source, env, markdown) {
          const { relativePath } = env as { relativePath: string };
          return (
            (await markdown.renderAsync(source, env)) +
            (relativePath.endsWith('api-reference.md') ? endpoints() : '')
          );
        },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Quick start', link: '/start' },
      { text: 'API', link: '/api-reference' },
      { text: 'Contents', link: '/contents' },
      {
        text: version,
        items: [
          { text: 'Changelog', link: '/repository/changelog' },
          { text: 'API changelog', link: '/api-changelog' },
          // Each has its site as a file. Users of an older version have its pages in their checkout, and its reference at /docs.
          ...(project ? [{ text: 'Other versions', link: `${project}/releases` }] : []),
        ],
      },
    ],
    sidebar: Object.entries(SIDEBAR).map(([subject, files]) => ({
      text: subject,
      collapsed: false,
      items: files.map((file) => ({ text: titleOf(file), link: `/${addressOf(file).replace(/\.md$/, '')}` })),
    })),
  },
});
