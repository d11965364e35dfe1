import { Suspense } from 'react';
import { useSession } from '../../hooks/useSession';
import { isOpenTo, type Page, type PageProps } from '../../pages';
import { Note } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import styles from './PageView.module.css';

/** A page of the registry, or the reason why the session cannot open it. */
export function PageView<Props extends PageProps>({ page, ...props }: { page: Page<Props> } & Props) {
  const { scopes } = useSession();
  const { View, title, hint } = page;
  if (!isOpenTo(page, scopes))
    return (
      <div className={styles.refusal}>
        <Note title={`This session may not open “${title}”.`}>
          <p>{hint}</p>
        </Note>
      </div>
    );
  return (
    <Suspense fallback={<Skeleton label={`Loading ${title}`} />}>
      <View {...(props as unknown as Props)} />
    </Suspense>
  );
}
