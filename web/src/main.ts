// Starts the page.

import './tokens.css'
import './base.css'
import { mount } from 'svelte'
import App from './App.svelte'
import { theme } from './state/theme.svelte'

theme.apply()
// In a task of its own: parsing and mounting together would block a phone for too long.
setTimeout(() => mount(App, { target: document.getElementById('app')! }))
