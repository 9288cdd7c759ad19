package import StoreRecords
package import SystemPackage

/// Names the advanced options without their group, in this package.
extension StoreOptions {
    package init(contentName: String, exchangesAutomatically: Bool) {
        self.init(contentName: contentName)
        advanced.exchangesAutomatically = exchangesAutomatically
    }

    package var contentPath: FilePath? {
        get { advanced.contentPath }
        set { advanced.contentPath = newValue }
    }
    package var exchangesAutomatically: Bool {
        get { advanced.exchangesAutomatically }
        set { advanced.exchangesAutomatically = newValue }
    }
    package var polling: PlacePolling? {
        get { advanced.polling }
        set { advanced.polling = newValue }
    }
    package var coalescing: Coalescing? {
        get { advanced.coalescing }
        set { advanced.coalescing = newValue }
    }
    package var conflictRetention: ConflictRetention {
        get { advanced.conflictRetention }
        set { advanced.conflictRetention = newValue }
    }
    package var historyRetention: HistoryRetention? {
        get { advanced.historyRetention }
        set { advanced.historyRetention = newValue }
    }
    package var baselines: BaselinePolicy? {
        get { advanced.baselines }
        set { advanced.baselines = newValue }
    }
    package var silenceLimit: Duration? {
        get { advanced.silenceLimit }
        set { advanced.silenceLimit = newValue }
    }
    package var largeValueSize: Int {
        get { advanced.largeValueSize }
        set { advanced.largeValueSize = newValue }
    }
    package var journalMode: JournalMode {
        get { advanced.journalMode }
        set { advanced.journalMode = newValue }
    }
    package var transitionDeadline: Duration {
        get { advanced.transitionDeadline }
        set { advanced.transitionDeadline = newValue }
    }
    package var removesFilesOfGoneAccounts: Bool {
        get { advanced.removesFilesOfGoneAccounts }
        set { advanced.removesFilesOfGoneAccounts = newValue }
    }
    package var givesWay: Bool {
        get { advanced.givesWay }
        set { advanced.givesWay = newValue }
    }
}
