import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { addressOf, PAGES } from './pages.ts';

const FILES = new Map(PAGES.map((file) => [addressOf(file), file]));

/**
 * Pages are written for GitHub, without regard to the site.
 *
 * Links between files of the repository, which work on GitHub, become links of the site, or, if it has no such page, links
 * to the file in the repository. Without the address of a repository, those are text.
 */
export function adaptPages(markdown: MarkdownRenderer, repository: string | undefined): void {
  markdown.core.ruler.push('adapt-pages', ({ tokens, env }) => {
    const { relativePath } = env as { relativePath: string };
    const folder = dirname(FILES.get(relativePath) ?? relativePath);
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      // Templates of messages have the same braces as Vue's.
      if (token.type === 'code_inline') token.attrSet('v-pre', '');
      if (token.type !== 'link_open') continue;
      const [path = '', anchor] = (token.attrGet('href') ?? '').split('#');
      if (path === '' || /^([a-z]+:|\/)/.test(path)) continue;
      const file = normalize(join(folder, decodeURI(path)));
      if (file === 'README.md') token.attrSet('href', '/');
      else if (PAGES.includes(file))
        token.attrSet('href', `/${addressOf(file)}${anchor === undefined ? '' : `#${anchor}`}`);
      else if (existsSync(file)) {
        if (repository === undefined) token.attrs = [];
        else token.attrSet('href', `${repository}/${file}`);
      }
    }
  });
}
