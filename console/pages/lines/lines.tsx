export default function Lines() {
  return null;
}
