import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RequestError } from './api/request';
import { App } from './components/App/App';
import { applyTheme } from './hooks/useTheme';
import { startLive } from './live/live';
import { parseLocation } from './location/location';
import { preloadPage } from './pages';
import './styles/base.css';

const RETRIES = 2;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Only a transient error can disappear with a second attempt.
      retry: (count, error) => count < RETRIES && error instanceof RequestError && error.detail.transient === true,
      staleTime: 10_000,
      refetchOnWindowFocus: false,
    },
  },
});

const root = document.getElementById('root');
if (!root) throw new Error('The page has no #root to stand in.');
const page = createRoot(root);

function draw(): void {
  page.render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}

preloadPage(parseLocation(location.search));
applyTheme();
startLive(client);
// The start of the script and the first drawing are two frames. A page in the background gets no frames.
if (document.hidden) draw();
else requestAnimationFrame(() => setTimeout(draw));
