import Foundation
import StoreInspection
import UbiquityStores

/// A notice on the desktop about something that needs a person.
struct PersonNotice: Equatable, Sendable {
    var title: String
    var text: String

    /// The command that shows it: notify-send(1) of libnotify.
    ///
    /// Its text is a kind of HTML, and names in it come from other devices.
    var command: [String] {
        let escaped = text.visible.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: ">", with: "&gt;")
        return ["notify-send", "--app-name=Ubiquity", "--icon=dialog-warning", "--", title.visible, escaped]
    }

    /// Returns what needs a person now and did not before.
    ///
    /// - Parameters:
    ///   - old: the earlier facts; nil at the beginning, when only what stops a container is told.
    ///   - new: the present facts.
    /// - Returns: the notices, most important first.
    static func notices(from old: WatchFacts?, to new: WatchFacts) -> [PersonNotice] {
        let new = new.named(new.names)
        var notices: [PersonNotice] = []
        func add(_ text: String) { notices.append(PersonNotice(title: new.container, text: text)) }
        let stops: Set<AccountState> = [.stuck, .suspended]
        if stops.contains(new.state), old?.state != new.state { add(new.reasons.first ?? "It is \(new.state.words).") }
        if new.isOverMark, old?.isOverMark != true {
            add("There is little space left, or the container takes more than its mark: \(WatchFacts.size(new.storage.bytes)).")
        }
        guard let old else { return notices }
        for kind in WatchFacts.Trouble.Kind.allCases {
            let (before, now) = (old.troubles.counts[kind.rawValue] ?? 0, new.troubles.counts[kind.rawValue] ?? 0)
            guard now > before else { continue }
            let latest = new.troubles.listed.last { $0.kind == kind }
            add("\(kind.text(now))\(latest.map { ": \($0.subject)" } ?? "")")
        }
        return notices
    }
}
