extension JournalScreen {
    /// Takes a key.
    ///
    /// - Returns: the effect that the program performs; nil for none.
    public mutating func press(_ key: Key) -> ScreenEffect? {
        message = ""
        switch state {
        case .list: return pressInList(key)
        case .post(let firstLine): return pressInPost(key, firstLine)
        case .search(let field): return pressInSearch(key, field)
        case .form(let form): return pressInForm(key, form)
        case .account(let field): return pressInAccount(key, field)
        case .question(let question): return answer(question, isYes: key == .character("y"))
        case .help:
            state = .list
            return nil
        }
    }

    private mutating func pressInList(_ key: Key) -> ScreenEffect? {
        switch key {
        case .up, .character("k"): select(by: -1)
        case .down, .character("j"): select(by: 1)
        case .enter: if selected != nil { state = .post(firstLine: 0) }
        case .character("/"): state = .search(TextField(search))
        case .character("?"): state = .help
        case .escape:
            guard !search.isEmpty else { return nil }
            search = ""
            return .search("")
        default: return pressAnywhere(key)
        }
        return nil
    }

    private mutating func pressInPost(_ key: Key, _ firstLine: Int) -> ScreenEffect? {
        switch key {
        case .up, .character("k"): state = .post(firstLine: max(0, firstLine - 1))
        case .down, .character("j"): state = .post(firstLine: min(JournalView.lastFirstLine(self), firstLine + 1))
        case .escape, .enter: state = .list
        default: return pressAnywhere(key)
        }
        return nil
    }

    /// The keys that mean one thing in the list and in a post.
    private mutating func pressAnywhere(_ key: Key) -> ScreenEffect? {
        switch key {
        case .character("q"): return .quit
        case .character("n"): state = .form(PostForm())
        case .character("e"): if let selected { state = .form(PostForm(selected)) }
        case .character("d"): if let selected { state = .question(.remove(selected.id)) }
        case .character("p"): return selected.map { .setPinned(!$0.isPinned, $0.id) }
        case .character("K"): return move(by: -1)
        case .character("J"): return move(by: 1)
        case .character("u"): return step(.undo)
        case .character("r"): return step(.redo)
        default: return pressAccountKey(key)
        }
        return nil
    }

    /// The keys for the account and the container.
    private mutating func pressAccountKey(_ key: Key) -> ScreenEffect? {
        guard let status, case .character(let character) = key, "oSAWR".contains(character) else { return nil }
        guard status.account != nil || character == "S" else {
            message = "Nobody is signed in: S signs in."
            return nil
        }
        switch character {
        case "o": return .setOffline(!status.isOffline)
        case "S" where status.account != nil: return .signOut
        case "S", "A": state = .account(TextField())
        case "W": state = .question(.wipe)
        case "R" where status.suspension == nil: message = "The container is there."
        default: state = .question(.republish)
        }
        return nil
    }

    private mutating func pressInSearch(_ key: Key, _ field: TextField) -> ScreenEffect? {
        var field = field
        switch key {
        case .enter: state = .list
        case .escape:
            state = .list
            search = ""
            return .search("")
        default:
            field.press(key)
            state = .search(field)
            guard search != field.text else { return nil }
            search = field.text
            return .search(search)
        }
        return nil
    }

    private mutating func pressInForm(_ key: Key, _ form: PostForm) -> ScreenEffect? {
        var form = form
        switch key {
        case .escape: state = .list
        case .control("s"):
            if let edit = form.edit() { return .apply(edit) }
            state = .list
            message = "Nothing to save."
        default:
            form.press(key)
            state = .form(form)
        }
        return nil
    }

    private mutating func pressInAccount(_ key: Key, _ field: TextField) -> ScreenEffect? {
        var field = field
        switch key {
        case .escape: state = .list
        case .enter:
            state = .list
            return field.text.isEmpty ? nil : .signIn(field.text)
        default:
            field.press(key)
            state = .account(field)
        }
        return nil
    }

    private mutating func answer(_ question: ScreenState.Question, isYes: Bool) -> ScreenEffect? {
        state = .list
        guard isYes else { return nil }
        switch question {
        case .remove(let id): return .remove(id)
        case .wipe: return .wipe
        case .republish: return .republish
        }
    }

    private mutating func select(by distance: Int) {
        let listed = contents.listed
        guard let index = listed.firstIndex(where: { $0.id == selection }) else { return }
        selection = listed[min(max(index + distance, 0), listed.count - 1)].id
    }

    private mutating func move(by distance: Int) -> ScreenEffect? {
        guard let selected else { return nil }
        if selected.isPinned { return .move(selected.id, by: distance) }
        message = "Only pinned posts have an order: p pins one."
        return nil
    }

    private mutating func step(_ step: UndoStack.Step) -> ScreenEffect? {
        if let edit = undo.edit(for: step) { return .step(step, edit) }
        message = step == .undo ? "Nothing to undo." : "Nothing to redo."
        return nil
    }
}
