import { Page } from '../components/page.tsx';

export default function Home() {
  return <Page title="Home">…</Page>;
}
