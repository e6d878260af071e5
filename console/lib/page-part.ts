import { type ComponentType, lazy, type LazyExoticComponent } from 'react';
import { PART_CATALOGS, type PagePart } from '#console/catalogs.ts';
import { loadCatalogs } from './locale.ts';

/** A part of a page that is loaded with its texts when it is first shown. The file exports it as `default`. */
export const pagePart = <P>(
  name: PagePart,
  load: () => Promise<{ default: ComponentType<P> }>,
): LazyExoticComponent<ComponentType<P>> =>
  lazy(async () => {
    const [module] = await Promise.all([load(), loadCatalogs(PART_CATALOGS[name])]);
    return module;
  });
