/** The filters of the HTML report. Without it the page still shows everything. */
const all = (selector) => [...document.querySelectorAll(selector)]
const byId = (id) => document.getElementById(id)
const text = byId('text')
const clear = byId('clear')
const cases = all('.case:not(.finding)').filter((one) => one.closest('.newer') === null)
const chips = all('[data-verdict-filter]')
const cells = all('[data-requirement]')
let filter = { verdict: '', requirement: '' }

/** Hides what the filters leave out. */
const apply = () => {
  const { verdict, requirement } = filter
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean)
  const isShown = ({ dataset }) =>
    (verdict === '' || dataset.verdict === verdict) &&
    (requirement === '' || dataset.proves.split(' ').includes(requirement)) &&
    words.every((word) => dataset.search.includes(word))
  const narrowed = verdict !== '' || requirement !== '' || words.length > 0
  for (const element of [...cases, ...all('tr[data-id]')]) element.hidden = !isShown(element)
  for (const group of all('.group')) {
    group.hidden = group.querySelector('.case:not([hidden])') === null
    group.open = narrowed
  }
  for (const cell of cells) cell.ariaPressed = String(cell.dataset.requirement === requirement)
  for (const chip of chips) chip.ariaPressed = String(chip.dataset.verdictFilter === verdict)
  const visible = cases.filter((one) => !one.hidden).length
  byId('count').textContent = `${visible} of ${cases.length} cases${requirement === '' ? '' : ` for ${requirement}`}`
  clear.hidden = !narrowed
}

const setAddress = (hash) =>
  history.replaceState(null, '', location.pathname + location.search + (hash === '' ? '' : `#${hash}`))

/** Filters by a verdict and a requirement, and shows the cases. */
const filterBy = (wanted) => {
  filter = { ...filter, ...wanted }
  apply()
  if (Object.values(wanted).some((one) => one !== '')) byId('cases').scrollIntoView()
}

const reset = () => {
  text.value = ''
  filterBy({ verdict: '', requirement: '' })
}

/** An address names a requirement to filter by, or an element to show, with what is around it. */
const follow = () => {
  const id = decodeURIComponent(location.hash.slice(1))
  const requirement = cells.some((cell) => cell.dataset.requirement === id) ? id : ''
  filter = { ...filter, requirement }
  apply()
  const element = requirement === '' && id !== '' ? byId(id) : null
  if (element === null) return
  if (element.closest('[hidden]') !== null) reset()
  for (let around = element.closest('details'); around; around = around.parentElement.closest('details'))
    around.open = true
  element.scrollIntoView()
}

const copy = async (button) => {
  const line = button.parentElement.querySelector('pre')
  try {
    await navigator.clipboard.writeText(line.textContent)
    button.textContent = 'Copied'
  } catch {
    getSelection().selectAllChildren(line)
    button.textContent = 'Selected'
  }
}

document.addEventListener('click', ({ target }) => {
  const { verdictFilter, requirement: chosen } = target.closest('button')?.dataset ?? {}
  if (verdictFilter !== undefined) filterBy({ verdict: verdictFilter === filter.verdict ? '' : verdictFilter })
  if (chosen !== undefined) {
    const wanted = chosen === filter.requirement ? '' : chosen
    setAddress(wanted)
    filterBy({ requirement: wanted })
  }
  if (target.matches('.copy')) void copy(target)
  // Following the same address again has no effect by itself, but its element may be hidden now.
  if (target.closest('a')?.hash === location.hash && location.hash !== '') follow()
})
clear.addEventListener('click', () => {
  reset()
  setAddress('')
  text.focus()
})
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') clear.click()
  if (event.key !== '/' || document.activeElement === text || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  text.focus()
})
text.addEventListener('input', apply)
addEventListener('hashchange', follow)
for (const element of [...all('.copy'), document.querySelector('.filters')]) element.hidden = false
follow()
