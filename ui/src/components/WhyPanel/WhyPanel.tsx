import { StartWhyDocument } from '../../api/generated/graphql';
import { SearchPanel } from '../SearchPanel/SearchPanel';

interface WhyPanelProps {
  /** Id of a failed run. */
  run: string;
}

/** Names the input record at which a run failed: the service runs its registered program again on parts of its input. */
export function WhyPanel({ run }: WhyPanelProps) {
  return (
    <SearchPanel
      kind="WHY"
      subject={run}
      title="Why?"
      id="why"
      start="Find the record at which it failed"
      note="The program runs again on parts of its input, next to the real data, which stays unchanged."
      document={StartWhyDocument}
      variables={() => ({ run })}
    />
  );
}
