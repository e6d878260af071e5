import { Tabs as Base } from '@base-ui/react/tabs';
import { type ReactNode, Suspense } from 'react';
import { SkeletonRows } from './states.tsx';

/** Tabs, whose content may be loaded with `lazy`. Tabs without content filter the list below. */
export function Tabs({
  label,
  value,
  onChange,
  tabs,
}: {
  /** The accessible name. */
  label: string;
  value: string;
  onChange: (value: string) => void;
  tabs: readonly { value: string; label: ReactNode; content?: ReactNode }[];
}) {
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(String(next))}>
      <Base.List aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line md:flex-wrap">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className="-mb-px border-b-2 border-transparent px-3 py-2 font-medium whitespace-nowrap text-muted hover:text-ink data-active:border-accent data-active:text-ink"
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className="pt-4 outline-none">
          <Suspense fallback={<SkeletonRows />}>{tab.content}</Suspense>
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
