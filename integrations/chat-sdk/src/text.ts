import { BaseFormatConverter, type Content, parseMarkdown, type Root, toPlainText } from 'chat';

/** Phones show no Markdown: texts are sent without its marks, lists with hyphens, and links with their address. */
export class PlainText extends BaseFormatConverter {
  override toAst(text: string): Root {
    return parseMarkdown(text);
  }

  override fromAst(ast: Root): string {
    return this.fromAstWithNodeConverter(ast, (node) => this.#textOf(node));
  }

  #textOf(node: Content): string {
    if (node.type === 'list') return this.renderList(node, 0, (child) => this.#textOf(child), '-');
    if (node.type === 'link') {
      const label = toPlainText({ type: 'root', children: [node] } as unknown as Root);
      return label === node.url || label === '' ? node.url : `${label} (${node.url})`;
    }
    return this.defaultNodeToText(node, (child) => this.#textOf(child));
  }
}

/** Messages are Liquid templates; what an agent writes is not. */
export const literal = (text: string): string => text.replaceAll(/\{[{%]/g, (open) => `{{ "${open}" }}`);
