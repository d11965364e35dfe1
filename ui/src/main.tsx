import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RequestError } from './api/request';
import { App } from './components/App/App';
import { applyTheme } from './hooks/useTheme';
import './styles/base.css';

const RETRIES = 2;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // What the service refused it will refuse again; only what is marked transient is worth another try.
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

applyTheme();
// Starting the script and the first drawing are a frame each. A page in the background has no frames to wait for.
if (document.hidden) draw();
else requestAnimationFrame(() => setTimeout(draw));
