import SystemPackage

/// A client broke the protocol.
struct Misuse: Error, CustomStringConvertible {
    let description: String
}

// No frame of a client may reach a precondition of the arbiter, and no client may act for another one.
extension BrokerEngine {
    /// Returns the reason to reject a well-formed request.
    func objection(to request: ClaimRequest, from client: ClientID) -> String? {
        if let count = clients[client]?.live.count, count >= Limits.claims {
            return "This process has \(count) claims at the broker already, the most that it may have. End some first."
        }
        if request.items.count > Limits.items {
            return "One access may claim \(Limits.items) items, not \(request.items.count). Claim their directory, or make several accesses."
        }
        if let long = request.items.first(where: { !$0.path.isShort }) {
            return "A path of \(long.path.length) bytes is longer than the \(Limits.pathBytes) that Linux takes. See path_resolution(7)."
        }
        return nil
    }

    func check(_ event: ArbiterEvent, from client: ClientID) throws(Misuse) {
        switch event {
        case .request(let request): try check(request, from: client)
        case .end(let id, _), .cancel(let id), .deadline(let id): try check(own: id.client, client)
        case .moved(let id, let move):
            try check(own: id.client, client)
            try check(move)
        case .addPresenter(let id, let path, let names):
            try check(own: id.client, client)
            try check(path)
            guard arbiter.presenters[id] == nil else { throw Misuse(description: "\(id) was added twice.") }
            guard arbiter.presenters.count < Limits.presenters else {
                throw Misuse(description: "There are \(Limits.presenters) presenters already.")
            }
            for name in names { try check(text: name) }
        case .removePresenter(let id), .noticed(let id, _): try check(own: id.client, client)
        case .relocatePresenter(let id, let path):
            try check(own: id.client, client)
            try check(path)
        case .handled(let id, _):
            // Answers to unknown messages are ignored.
            if let owner = arbiter.messages[id]?.delivery.presenter.client { try check(own: owner, client) }
        case .attributesChanged(let path, _, let cause), .versionChanged(let path, _, _, let cause):
            try check(own: cause.client, client)
            try check(path)
        case .clientJoined, .clientGone, .adopted, .passedOver, .resumed, .missed: throw Misuse(description: "Clients do not send this event.")
        }
    }

    func check(_ holdings: Holdings, from client: ClientID) throws(Misuse) {
        var seen: Set<ClaimID> = []
        for presenter in holdings.presenters {
            try check(own: presenter.id.client, client)
            try check(presenter.path)
        }
        guard Set(holdings.presenters.map(\.id)).count == holdings.presenters.count else { throw Misuse(description: "A presenter is listed twice.") }
        for claim in holdings.claims {
            try check(claim.request, from: client)
            try check(claim.items)
            for move in claim.moves { try check(move) }
            for note in claim.moveNotes { try check(own: note.presenter.client, client) }
            guard seen.insert(claim.request.id).inserted else { throw Misuse(description: "\(claim.request.id) is listed twice.") }
        }
        for message in holdings.messages { try check(own: message.delivery.presenter.client, client) }
    }

    private func check(_ request: ClaimRequest, from client: ClientID) throws(Misuse) {
        try check(own: request.id.client, client)
        guard request.id.number < 1 << 63 else { throw Misuse(description: "\(request.id) uses a number that is reserved for the broker.") }
        guard arbiter.claims[request.id] == nil, recovery?.deferred.contains(where: { $0.id == request.id }) != true else {
            throw Misuse(description: "\(request.id) was requested twice.")
        }
        switch request.purpose {
        case .coordinator(let owner, _): try check(own: owner, client)
        case .presenter(let id): try check(own: id.client, client)
        case .named(let name): try check(text: name)
        case .delegation: throw Misuse(description: "Delegations are not requested.")
        }
        if let presenter = request.presenter { try check(own: presenter.client, client) }
        for case .claim(let id) in request.surroundings { try check(own: id.client, client) }
        guard !request.items.isEmpty else { throw Misuse(description: "\(request.id) names no item.") }
        try check(request.items)
    }

    private func check(_ items: [ClaimItem]) throws(Misuse) {
        for item in items {
            guard item.path.isAbsolute else { throw Misuse(description: "A path is not absolute.") }
            // The claim of such a path is refused with a clear message elsewhere.
            guard item.path.isShort else { continue }
            try check(depths: item.packageDepths, upTo: item.path.components.count - 1)
            if case .write(let options) = item.access, options.rawValue.nonzeroBitCount > 1 {
                throw Misuse(description: "A claim has more than one writing option.")
            }
        }
    }

    private func check(_ move: Move) throws(Misuse) {
        try check(move.from)
        try check(move.to)
        try check(depths: move.packageDepths, upTo: move.to.components.count)
    }

    private func check(depths: [Int], upTo limit: Int) throws(Misuse) {
        var last = 0
        for depth in depths {
            guard depth > last, depth <= limit else { throw Misuse(description: "The positions of packages are invalid.") }
            last = depth
        }
    }

    private func check(_ path: FilePath?) throws(Misuse) {
        guard let path else { return }
        guard path.isAbsolute, path.isShort else { throw Misuse(description: "A path is not absolute, or longer than \(Limits.pathBytes) bytes.") }
    }

    private func check(text: String) throws(Misuse) {
        guard text.utf8.count <= Limits.textBytes else { throw Misuse(description: "A text is longer than \(Limits.textBytes) bytes.") }
    }

    private func check(own owner: ClientID, _ client: ClientID) throws(Misuse) {
        guard owner == client else { throw Misuse(description: "\(client) speaks for \(owner).") }
    }
}

extension FilePath {
    fileprivate var isShort: Bool { length <= BrokerEngine.Limits.pathBytes }
}
