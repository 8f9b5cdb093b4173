/** The filters of the HTML report. Without it the page still shows everything. */
const all = (selector) => [...document.querySelectorAll(selector)]
const text = document.getElementById('text')
const count = document.getElementById('count')
const clear = document.getElementById('clear')
const heading = document.getElementById('cases')
const cases = all('.case:not(.finding)').filter((one) => one.closest('.newer') === null)
const lines = all('tr[data-id]')
const groups = all('.group')
const chips = all('[data-verdict-filter]')
const cells = all('[data-requirement]')
let verdict = ''
let requirement = ''

const shown = (element, words) =>
  (verdict === '' || element.dataset.verdict === verdict) &&
  (requirement === '' || element.dataset.proves.split(' ').includes(requirement)) &&
  words.every((word) => element.dataset.search.includes(word))

const apply = () => {
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean)
  const narrowed = verdict !== '' || requirement !== '' || words.length > 0
  for (const element of [...cases, ...lines]) element.hidden = !shown(element, words)
  for (const group of groups) {
    group.hidden = [...group.querySelectorAll('.case')].every((one) => one.hidden)
    group.open = narrowed
  }
  for (const cell of cells) cell.setAttribute('aria-pressed', String(cell.dataset.requirement === requirement))
  for (const chip of chips) chip.setAttribute('aria-pressed', String(chip.dataset.verdictFilter === verdict))
  const visible = cases.filter((one) => !one.hidden).length
  count.textContent = `${visible} of ${cases.length} cases${requirement === '' ? '' : ` for ${requirement}`}`
  clear.hidden = !narrowed
}

const toCases = () => heading.scrollIntoView()

const setAddress = (hash) =>
  history.replaceState(null, '', location.pathname + location.search + (hash === '' ? '' : `#${hash}`))

const reset = () => {
  verdict = ''
  requirement = ''
  text.value = ''
  apply()
}

/** Resets filters that hide the element, unfolds its surroundings, and scrolls to it. */
const reveal = (element) => {
  if (element.hidden || element.closest('[hidden]') !== null) reset()
  for (let around = element; around !== null; around = around.parentElement)
    if (around.tagName === 'DETAILS') around.open = true
  element.scrollIntoView()
}

/** An address names a requirement to filter by, or an element to show. */
const follow = () => {
  const id = decodeURIComponent(location.hash.slice(1))
  requirement = cells.some((cell) => cell.dataset.requirement === id) ? id : ''
  apply()
  const element = requirement === '' && id !== '' ? document.getElementById(id) : null
  if (element !== null) reveal(element)
}

for (const chip of chips)
  chip.addEventListener('click', () => {
    verdict = chip.dataset.verdictFilter === verdict ? '' : chip.dataset.verdictFilter
    apply()
    if (verdict !== '') toCases()
  })
for (const cell of cells)
  cell.addEventListener('click', () => {
    requirement = cell.dataset.requirement === requirement ? '' : cell.dataset.requirement
    setAddress(requirement)
    apply()
    if (requirement !== '') toCases()
  })
text.addEventListener('input', apply)
clear.addEventListener('click', () => {
  reset()
  setAddress('')
  text.focus()
})
for (const button of all('.copy')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    const line = button.parentElement.querySelector('pre')
    try {
      await navigator.clipboard.writeText(line.textContent)
      button.textContent = 'Copied'
    } catch {
      getSelection().selectAllChildren(line)
      button.textContent = 'Selected'
    }
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2000)
  })
}
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== text && !event.ctrlKey && !event.metaKey) {
    event.preventDefault()
    text.focus()
  }
  if (event.key === 'Escape') clear.click()
})
addEventListener('hashchange', follow)
// Following the same address again has no effect by itself, but its element may be hidden now.
document.addEventListener('click', (event) => {
  if (event.target.closest('a')?.hash === location.hash && location.hash !== '') follow()
})
document.querySelector('.filters').hidden = false
follow()
