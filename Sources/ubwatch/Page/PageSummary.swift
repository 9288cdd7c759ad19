import Foundation
import StoreInspection
import UbiquityContainers
import UbiquityStores

/// What the page says of a container in sentences and numbers.
struct PageSummary: Encodable, Equatable, Sendable {
    /// How well something is; a colour, a mark and the words tell it.
    enum Tone: String, Encodable, Sendable {
        case good, busy, bad, quiet
    }

    struct Sentence: Encodable, Equatable, Sendable {
        var subject: String
        var text: String
        var tone: Tone
    }

    struct Kind: Encodable, Equatable, Sendable {
        var name: String
        var files: Int
        var bytes: Int64
    }

    struct Space: Encodable, Equatable, Sendable {
        /// The bytes of the container.
        var bytes: Int64 = 0
        var isOver = false
        var free: Int64?
        var capacity: Int64?
        var mark: Int64?
        /// The parts of the container that take space, each byte in one of them.
        var kinds: [Kind] = []
    }

    /// The container's identifier.
    var id: String
    var account: String
    var path: String
    var state = ""
    var words = "looking at the container"
    var tone = Tone.quiet
    var reasons: [String] = []
    var remedies: [String] = []
    /// Why it cannot be read; older facts stay.
    var failure: String?
    var isPresent = true
    var sentences: [Sentence] = []
    /// The number of entries that need attention, of items, and of peers.
    var troubles = 0, items = 0, peers = 0
    var space = Space()
    var actions: [PageAction] = []

    /// - Parameters:
    ///   - view: the container's view.
    ///   - id: its identifier.
    ///   - account: its account.
    init(_ view: ContainerView, id: String, account: String) {
        (self.id, self.account, path) = (id, account, view.path.visible)
        failure = view.failure?.visible
        if failure != nil { (words, tone) = ("cannot be read", .bad) }
        guard let facts = view.facts else { return }
        if failure == nil { (state, words, tone) = (facts.state.rawValue, facts.state.words, facts.state.tone) }
        reasons = facts.reasons.map(\.visible)
        remedies = facts.remedies.map(\.visible)
        isPresent = facts.presence == .there
        sentences = facts.sentences.map { Sentence(subject: $0.subject.visible, text: $0.text.visible, tone: $0.tone) }
        troubles = facts.troubles.counts.values.reduce(0, +)
        items = facts.items.count
        peers = Set(facts.stores.flatMap(\.peers).map(\.peer)).union(facts.attached).count
        space = Space(
            bytes: facts.storage.bytes, isOver: facts.isOverMark, free: facts.space.free, capacity: facts.space.capacity, mark: facts.space.mark,
            kinds: facts.storage.kinds.map { Kind(name: $0.name, files: $0.amount.files, bytes: $0.amount.bytes) })
        actions = facts.actions
    }
}

extension AccountState {
    var tone: PageSummary.Tone {
        switch self {
        case .idle: .good
        case .suspended, .stuck: .bad
        case .settingUp, .waitingForNetwork, .uploading, .downloading: .busy
        case .signedOut: .quiet
        }
    }
}

extension CellStyle {
    fileprivate var tone: PageSummary.Tone {
        switch colour {
        case .green: .good
        case .red: .bad
        case .yellow: .busy
        default: .quiet
        }
    }
}

extension WatchFacts {
    /// A sentence each for the account, for what carries the container, and for each store.
    fileprivate var sentences: [PageSummary.Sentence] { [accountSentence, transportSentence] + storeSentences }

    private var accountSentence: PageSummary.Sentence {
        let (text, tone): (String, PageSummary.Tone) =
            switch device.signedIn {
            case account?: ("\(account) is signed in on this device", .good)
            case let other?: ("\(other) is signed in on this device, not \(account)", .busy)
            case nil: ("nobody is signed in on this device", .busy)
            }
        return .init(subject: "Account", text: text, tone: tone)
    }

    private var transportSentence: PageSummary.Sentence {
        func sentence(_ text: String, _ tone: PageSummary.Tone) -> PageSummary.Sentence { .init(subject: "Transport", text: text, tone: tone) }
        guard let transport else { return sentence("it is not known what carries the container", .quiet) }
        if let failure = transport.failure { return sentence(failure, .bad) }
        if transport.kind == .none { return sentence("nothing is known about what carries the container: ubcontrol setup names it", .quiet) }
        guard !transport.devices.isEmpty else { return sentence("\(transport.kind) carries the container", .good) }
        let connected = transport.devices.count { $0.isConnected && !$0.isPaused }
        var text = "\(transport.kind): \(connected) of \(Self.amount(transport.devices.count, "other device")) connected"
        let lacking = transport.devices.filter { ($0.missingItems ?? 0) > 0 }
        if let first = lacking.first {
            text += ", \(first.name) lacks \(Self.amount(first.missingItems ?? 0, "file"))"
            if lacking.count > 1 { text += ", and \(lacking.count - 1) more lack some" }
        }
        return sentence(text, connected == 0 ? .busy : lacking.isEmpty ? .good : .busy)
    }

    private var storeSentences: [PageSummary.Sentence] {
        let here = localStores.map { store -> PageSummary.Sentence in
            let (state, style) = TableMaker.state(of: store)
            let file = store.files.first(where: \.isInUse)
            let records = file.map { "\(Self.amount($0.summary.records, "record")), epoch \($0.summary.epoch), " } ?? ""
            let storage = store.usesLocalStorage ? ", using local storage" : ""
            return .init(subject: "Store \(store.content)", text: records + state + storage, tone: store.usesLocalStorage ? .busy : style.tone)
        }
        let known = Set(localStores.map(\.content))
        let elsewhere = stores.filter { !known.contains($0.name) }.map { store in
            let text = store.fault ?? "\(Self.amount(store.peers.count, "peer")), epoch \(store.epoch), not open on this device"
            return PageSummary.Sentence(subject: "Store \(store.name)", text: text, tone: store.fault == nil ? .quiet : .bad)
        }
        return here + elsewhere
    }
}
