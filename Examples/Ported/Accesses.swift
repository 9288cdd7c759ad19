#if canImport(UbiquityFoundation)
    import UbiquityFoundation
#else
    import Foundation
#endif

/// Coordinated accesses as they are written for Apple's systems.
struct Accesses {
    private let coordinator = NSFileCoordinator(filePresenter: nil)
    private let words: Words

    init(_ words: Words) {
        self.words = words
        if let purpose = words.options["--purpose"] { coordinator.purposeIdentifier = purpose }
        guard words.has("--cancel") else { return }
        let coordinator = coordinator
        Thread.detachNewThread { if readLine() != nil { coordinator.cancel() } }
    }

    /// Runs a command.
    ///
    /// - Returns: whether there is such a command.
    func run(_ command: String, _ url: URL) throws -> Bool {
        let others = words.names.dropFirst()
        let other = others.first.map { URL(fileURLWithPath: $0) }
        switch (command, others.first, other) {
        case ("read", nil, _): try read(url)
        case ("prepare", _, _): try prepare(words.names.map { URL(fileURLWithPath: $0) })
        case ("write", let text?, _):
            try write(url, []) { url in
                hold()
                try Data(text.utf8).write(to: url)
            }
        case ("move", _, let new?): try move(url, new)
        case ("copy", _, let new?): try copy(url, new)
        case ("delete", nil, _): try write(url, .forDeleting) { try FileManager.default.removeItem(at: $0) }
        case ("nested", _, let other?):
            try write(url, []) { _ in
                hold()
                try write(other, [], by: NSFileCoordinator(filePresenter: nil)) { _ in }
            }
        case ("resolve", nil, _): try resolve(url)
        default: return false
        }
        return true
    }

    /// Says that the accessor runs, and goes on at a line of standard input.
    private func hold() {
        guard words.has("--hold") else { return }
        say("holding")
        _ = readLine()
    }

    private func read(_ url: URL, _ options: NSFileCoordinator.ReadingOptions = []) throws {
        var (error, failure): (NSError?, (any Error)?) = (nil, nil)
        let thread = Thread.current
        coordinator.coordinate(readingItemAt: url, options: options, error: &error) { url in
            guard Thread.current === thread else { return say("on another thread") }
            do { say(try String(contentsOf: url, encoding: .utf8)) } catch { failure = error }
        }
        try report(error, failure)
    }

    private func write(
        _ url: URL, _ options: NSFileCoordinator.WritingOptions, by other: NSFileCoordinator? = nil, _ body: (URL) throws -> Void
    ) throws {
        var (error, failure): (NSError?, (any Error)?) = (nil, nil)
        (other ?? coordinator).coordinate(writingItemAt: url, options: options, error: &error) { url in
            do { try body(url) } catch { failure = error }
        }
        try report(error, failure)
    }

    private func prepare(_ urls: [URL]) throws {
        var (error, failure): (NSError?, (any Error)?) = (nil, nil)
        coordinator.prepare(forReadingItemsAt: urls, options: [], writingItemsAt: [], options: [], error: &error) { done in
            hold()
            do { for url in urls { try read(url, .withoutChanges) } } catch { failure = error }
            done()
        }
        try report(error, failure)
    }

    private func move(_ url: URL, _ new: URL) throws {
        var (error, failure): (NSError?, (any Error)?) = (nil, nil)
        coordinator.coordinate(writingItemAt: url, options: .forMoving, writingItemAt: new, options: .forReplacing, error: &error) { from, to in
            hold()
            do {
                coordinator.item(at: from, willMoveTo: to)
                try FileManager.default.moveItem(at: from, to: to)
                coordinator.item(at: from, didMoveTo: to)
            } catch { failure = error }
        }
        try report(error, failure)
    }

    private func copy(_ url: URL, _ new: URL) throws {
        var (error, failure): (NSError?, (any Error)?) = (nil, nil)
        coordinator.coordinate(readingItemAt: url, options: [], writingItemAt: new, options: [], error: &error) { from, to in
            do { try Data(contentsOf: from).write(to: to) } catch { failure = error }
        }
        try report(error, failure)
    }

    private func resolve(_ url: URL) throws {
        for version in NSFileVersion.unresolvedConflictVersionsOfItem(at: url) ?? [] {
            try version.replaceItem(at: url, options: [])
            version.isResolved = true
        }
        try NSFileVersion.removeOtherVersionsOfItem(at: url)
    }

    private func report(_ error: NSError?, _ failure: (any Error)?) throws {
        if let error { throw error }
        if let failure { throw failure }
    }
}
