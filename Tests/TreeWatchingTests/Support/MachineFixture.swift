import Glibc
import SystemPackage
import Testing
import UbiquityTesting

@testable import TreeWatching

/// A machine driven by hand over a scripted tree: nothing happens between two lines of a test but what the test does.
final class MachineFixture {
    let tree = ScriptedTreeSource(root: "/t")
    var machine: TreeStateMachine
    private var held: [UInt8] = []
    /// Done once, between watching a directory and listing it.
    var beforeListing: (path: String, action: () -> Void)?
    /// Done before each look at the tree.
    var between: (() -> Void)?

    init(exclude: [String] = []) {
        machine = TreeStateMachine(root: Array("/t".utf8), exclude: exclude, seed: 1)
        machine.work = []
        machine.work.append(.refresh(.root, [.recursive]))
        work()
    }

    /// Feeds the machine whatever is queued, and gives what it reports: kind, path and, after an arrow, the old path.
    @discardableResult
    func take(bytes: Int = 1 << 20, givingUp: Bool = false) -> [String] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes, alignment: 8)
        defer { buffer.deallocate() }
        let count = tree.read(into: buffer)
        let isEmptied = !hasEvents
        machine.noteRead()
        let events = held + buffer[..<count]
        held = []
        events.withUnsafeBytes { events in
            var offset = 0
            loop: while true {
                switch machine.receive(events, from: &offset, at: .init(wall: 0), givingUp: givingUp) {
                case .done: break loop
                case .work: work()
                case .probe:
                    between?()
                    let path = "/t/" + String(decoding: machine.probedPath, as: UTF8.self)
                    machine.answer(exists: (try? tree.status(of: path, followingLinks: false)) != nil)
                case .stalled:
                    held = Array(events[offset...])
                    break loop
                }
            }
        }
        if isEmptied, held.isEmpty, machine.drained(since: 0) { work() }
        return reported()
    }

    /// Feeds the machine until nothing is queued; what was noted is looked at after later reads.
    func settle() {
        var quiet = 0
        while quiet < 4 {
            quiet = hasEvents || !held.isEmpty ? 0 : quiet + 1
            take(givingUp: !hasEvents)
        }
    }

    private var hasEvents: Bool {
        var descriptor = pollfd(fd: tree.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) > 0
    }

    /// What was reported since it was last asked.
    func reported() -> [String] {
        machine.changes.take().filter { $0.kind != .ready }.map { change in
            let path = change.path.string.dropFirst(3) + (change.isDirectory ? "/" : "")
            return "\(change.kind) " + (change.from.map { "\($0.string.dropFirst(3)) -> " } ?? "") + path
        }
    }

    /// What is known below the root, with a slash behind directories.
    var known: Set<String> {
        Set(
            machine.index.postorder(.root).dropLast().map { node in
                String(decoding: machine.path(of: node), as: UTF8.self) + (machine.index.isDirectory(node) ? "/" : "")
            })
    }

    private func work() {
        while let work = machine.nextWork() {
            switch work {
            case .refresh(let node, let mode): refresh(node, mode)
            case .check(let parent, let name):
                let path = absolute(machine.path(of: parent) + [0x2F] + name)
                between?()
                if hasEvents, machine.postpone(parent, name) { continue }
                machine.looked(at: name, in: parent, try? tree.status(of: path, followingLinks: false))
            case .checkRoot: machine.rootChecked(try? tree.status(of: "/t", followingLinks: true), isSame: true, isAlive: true)
            }
        }
    }

    private func refresh(_ node: TreeIndex.Node, _ mode: TreeStateMachine.RefreshMode) {
        var next = machine.watched(node, addWatch(node), mode: mode)
        if case .verify(let known, let watch) = next {
            next = machine.verified(node, watch, known: known, addWatch(known), mode: mode)
        }
        guard case .list(let mode) = next else { return }
        var listing = DirectoryListing()
        if let (path, action) = beforeListing, machine.path(of: node) == Array(path.utf8) {
            beforeListing = nil
            action()
        }
        between?()
        do throws(Errno) {
            try tree.list(absolute(machine.path(of: node)), into: &listing) {}
            machine.listed(node, listing, mode: mode)
            machine.completed(node)
        } catch {
            machine.unlisted(node, error)
        }
    }

    private func addWatch(_ node: TreeIndex.Node) -> Result<Int32, Errno> {
        between?()
        do throws(Errno) {
            return .success(try tree.addWatch(absolute(machine.path(of: node)), mask: RawEvent.Mask.tree.rawValue))
        } catch {
            return .failure(error)
        }
    }

    private func absolute(_ path: [UInt8]) -> String { "/t/" + String(decoding: path, as: UTF8.self) }
}
