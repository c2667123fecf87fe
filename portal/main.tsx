import './portal.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { StartPage } from './pages/start-page.tsx'

createRoot(document.getElementById('portal')!).render(
  <StrictMode>
    <StartPage />
  </StrictMode>,
)
