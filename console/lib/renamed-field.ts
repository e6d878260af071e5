/** A template that reads another field where it reads one. Its own words stay. */
export const renamedField = (template: string, name: string, other: string): string =>
  template.replaceAll(/\{\{.*?\}\}|\{%.*?%\}/gs, (tag) =>
    tag.replaceAll(
      new RegExp(String.raw`(?<![\w.])${name.replaceAll('.', String.raw`\.`)}(?![\w])`, 'g'),
      () => other,
    ),
  );
